"""Errors in stream forms are shown at their field, in the reader's language."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

from tarantula.core.config import Config
from tarantula.store.database import open_database
from tests.sites.listener import Listener
from tests.support.followed_sources import followed, now, was_read
from tests.support.picker_pages import LEAGUE
from tests.support.picker_sites import site_of
from tests.support.web_server import WebServer, settled, web_server


def error_at(label: Locator) -> Locator:
    """Return the error below the field with a label."""
    return label.locator("xpath=ancestor::*[contains(@class, 'q-field')][last()]").get_by_role("alert")


def test_errors_are_shown_at_their_fields_in_portuguese(sqlite_config: Config, window: Page) -> None:
    with open_database(sqlite_config) as database:
        source = followed(database, "weather.lisboa", {"wind": "quantity"}, title="Vento")
        was_read(database, source, now(), {"": {"wind": "12 km/h"}})
    with web_server() as place:
        place.enter(window)
        window.goto(f"{place.address}/language/pt?back=/sources/weather.lisboa")
        check_source_form(settled(window))
        check_category_form(place, window)
        check_picker(place, window)
        check_alert_form(place, window)


def check_source_form(window: Page) -> None:
    """Invalid interval and unit; then valid ones are saved."""
    interval, unit = window.get_by_label("Intervalo de leitura"), window.get_by_label("Unidade")
    interval.fill("0")
    unit.fill("xyzzy")
    window.get_by_role("button", name="Guardar").click()
    expect(error_at(interval)).to_have_text(
        "O intervalo tem de estar entre um segundo e um ano: escreva segundos, ou 30s, 5m, 2h, 1d."
    )
    expect(error_at(unit)).to_contain_text("'xyzzy' não é uma unidade de medida.")
    interval.fill("5m")
    unit.fill("m/s")
    window.get_by_role("button", name="Guardar").click()
    expect(window.get_by_text("weather.lisboa foi guardado")).to_be_visible()
    expect(error_at(interval)).to_have_count(0)
    check_request_form(window)
    window.get_by_text("Avançado: opções do adaptador").click()
    rest = window.get_by_label("Em JSON")
    for wrong, sentence in (
        ("{", "Isto não é JSON"),
        ('{"places": {"wind": {"css": "p["}}}', "'p[' não é um seletor CSS"),
    ):
        rest.fill(wrong)
        window.get_by_role("button", name="Guardar").click()
        expect(window.get_by_role("alert").filter(has_text=sentence)).to_be_visible()


def check_request_form(window: Page) -> None:
    """A secret in a header, an invalid header line, an invalid JSON body; then valid ones."""
    window.get_by_text("Pedido e variáveis").click()
    headers, body = window.get_by_label("Cabeçalhos"), window.get_by_label("Corpo do pedido", exact=True)
    variables = window.get_by_label("Variáveis, uma em cada linha")
    save = window.get_by_role("button", name="Guardar")
    headers.fill("X-API-Key: abc")
    save.click()
    expect(error_at(headers)).to_contain_text("O cabeçalho X-API-Key é um segredo: escreva {token} no seu lugar")
    headers.fill("X-API-Key {token}")
    save.click()
    expect(error_at(headers)).to_have_text("A linha 1 não é o que aqui se quer. Escreva-a como nome: valor.")
    headers.fill("X-API-Key: {token}")
    variables.fill("token=abc")
    body.fill('{"town": }')
    window.get_by_label("Método do pedido").click()
    window.get_by_role("option", name="POST").click()
    # An error expands the section that contains its field.
    window.get_by_text("Pedido e variáveis").click()
    expect(body).not_to_be_visible()
    save.click()
    expect(error_at(body)).to_contain_text("O que se envia não é JSON (linha 1, letra 10).")
    body.fill('{"town": "Lisboa"}')
    save.click()
    expect(window.get_by_text("weather.lisboa foi guardado").last).to_be_visible()
    expect(error_at(body)).to_have_count(0)


def check_category_form(place: WebServer, window: Page) -> None:
    """A question without an answer."""
    window.goto(f"{place.address}/streams/new")
    settled(window).get_by_text("Prontas a usar").click()
    window.get_by_role("button", name="Pré-visualizar", exact=True).click()
    expect(error_at(window.get_by_label("Endereço do feed"))).to_contain_text("Falta Endereço do feed. Escreva como em")


def check_picker(place: WebServer, window: Page) -> None:
    """An address that cannot be opened, and a name that is taken."""
    digits = "7" * 1_000_000
    answers = {"/": ("text/html", LEAGUE), "/empty": ("text/html", ""), "/digits": ("application/json", digits)}
    with site_of(answers) as site:
        for path, sentence in (
            ("empty", "A resposta está vazia."),
            ("digits", "O JSON tem um número de milhares de algarismos"),
            ("nowhere", "O servidor respondeu 404"),
        ):
            window.get_by_label("Endereço da página").fill(f"{site.url}{path}")
            window.get_by_role("button", name="Abrir").click()
            expect(window.get_by_role("alert").filter(has_text=sentence)).to_be_visible()
        window.get_by_label("Endereço da página").fill(site.url)
        window.get_by_role("button", name="Abrir").click()
        window.frame_locator("iframe").get_by_role("cell", name="61").click()
        expect(window.get_by_role("group", name="Valor 1")).to_contain_text("61")
        name = window.get_by_label("Nome da fonte")
        name.fill("weather.lisboa")
        window.get_by_role("button", name="Guardar").click()
        expect(error_at(name)).to_contain_text("Já existe uma fonte weather.lisboa.")


def check_alert_form(place: WebServer, window: Page) -> None:
    """A missing source, and a notification address that fails its test."""
    window.goto(f"{place.address}/sources/weather.lisboa")
    settled(window).get_by_role("button", name="Novo alerta").click()
    form = window.get_by_role("dialog", name="Novo alerta")
    expect(form.get_by_test_id("checked")).to_have_text("Valores desta fonte: wind (m/s)")
    form.get_by_label("Condição").fill("wind > 10")
    form.get_by_label("Tem de ser verdade durante").fill("always")
    form.get_by_role("button", name="Guardar").click()
    expect(error_at(form.get_by_label("Tem de ser verdade durante"))).to_contain_text("'always' não é uma duração.")
    form.get_by_label("Tem de ser verdade durante").fill("")
    with Listener(status=500) as listener:
        notify, send = form.get_by_label("Notificar também"), form.get_by_role("button", name="mensagem de teste")
        add_recipient(window, form, listener.address.replace("json://", "http://"))
        expect(notify).to_have_value(listener.address)
        send.click()
        expect(error_at(notify)).to_contain_text("Recusado, ou não alcançado: json.")
        listener.status = 200
        send.click()
        expect(window.get_by_text("A mensagem foi enviada a 1 endereços.")).to_be_visible()
        form.get_by_role("button", name="Guardar").click()
    expect(window.get_by_text("O alerta está ativo.")).to_be_visible()


def add_recipient(window: Page, alert: Locator, url: str) -> None:
    """Fill in the form of a service: first a wrong URL, then the right one."""
    alert.get_by_role("button", name="Juntar um destinatário").click()
    form = window.get_by_role("dialog", name="Juntar um destinatário")
    expect(form.get_by_label("Servidor SMTP")).to_be_visible()
    form.get_by_label("Serviço").click()
    window.get_by_role("option", name="Webhook (JSON)").click()
    expect(form.get_by_label("Servidor SMTP")).to_have_count(0)
    form.get_by_label("URL do webhook").fill("file:///etc/passwd")
    form.get_by_role("button", name="Juntar").click()
    expect(form.get_by_role("alert").filter(has_text="Isto não é um endereço da Web")).to_be_visible()
    form.get_by_label("URL do webhook").fill(url)
    form.get_by_role("button", name="Juntar").click()
    expect(form).to_have_count(0)
