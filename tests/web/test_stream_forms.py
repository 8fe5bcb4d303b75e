"""What is wrong in the forms of streams is said at its place, in the language of whoever wrote it."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

from tarantula.core.config import Config
from tarantula.core.database import open_database
from tests.sites.listener import Listener
from tests.support.followed_sources import followed, now, was_read
from tests.support.picker_pages import LEAGUE
from tests.support.picker_sites import site_of
from tests.support.web_server import WebServer, settled, web_server


def said_at(label: Locator) -> Locator:
    """Return what is said below the field that a label leads to."""
    return label.locator("xpath=ancestor::*[contains(@class, 'q-field')][last()]").get_by_role("alert")


def test_what_is_wrong_is_said_where_it_is_in_portuguese(sqlite_config: Config, window: Page) -> None:
    with open_database(sqlite_config) as database:
        source = followed(database, "weather.lisboa", {"wind": "quantity"}, title="Vento")
        was_read(database, source, now(), {"": {"wind": "12 km/h"}})
    with web_server() as place:
        place.enter(window)
        window.goto(f"{place.address}/language/pt?back=/sources/weather.lisboa")
        the_form_of_a_source(settled(window))
        a_category(place, window)
        a_page_that_is_pointed_at(place, window)
        an_alert_and_its_addresses(place, window)


def the_form_of_a_source(window: Page) -> None:
    """An interval of nothing and a unit that nobody knows; a right one is kept."""
    interval, unit = window.get_by_label("Intervalo de leitura"), window.get_by_label("Unidade")
    interval.fill("0")
    unit.fill("xyzzy")
    window.get_by_role("button", name="Guardar").click()
    expect(said_at(interval)).to_have_text(
        "O intervalo tem de estar entre um segundo e um ano: escreva segundos, ou 30s, 5m, 2h, 1d."
    )
    expect(said_at(unit)).to_contain_text("'xyzzy' não é uma unidade de medida.")
    interval.fill("5m")
    unit.fill("m/s")
    window.get_by_role("button", name="Guardar").click()
    expect(window.get_by_text("weather.lisboa foi alterada")).to_be_visible()
    expect(said_at(interval)).to_have_count(0)
    what_is_sent(window)
    window.get_by_text("Avançado: opções do adaptador").click()
    rest = window.get_by_label("Em JSON")
    for wrong, sentence in (
        ("{", "Isto não é JSON"),
        ('{"places": {"wind": {"css": "p["}}}', "'p[' não é um seletor CSS"),
    ):
        rest.fill(wrong)
        window.get_by_role("button", name="Guardar").click()
        expect(window.get_by_role("alert").filter(has_text=sentence)).to_be_visible()


def what_is_sent(window: Page) -> None:
    """A key that everybody would see, a line that is no header, a body that is not JSON; then all is well."""
    window.get_by_text("Pedido").click()
    headers, body = window.get_by_label("Cabeçalhos"), window.get_by_label("Corpo do pedido", exact=True)
    variables = window.get_by_label("Variáveis, uma em cada linha")
    save = window.get_by_role("button", name="Guardar")
    headers.fill("X-API-Key: abc")
    save.click()
    expect(said_at(headers)).to_contain_text("O cabeçalho X-API-Key é um segredo: escreva {token} no seu lugar")
    headers.fill("X-API-Key {token}")
    save.click()
    expect(said_at(headers)).to_have_text("A linha 1 não é o que aqui se quer. Escreva-a como nome: valor.")
    headers.fill("X-API-Key: {token}")
    variables.fill("token=abc")
    body.fill('{"town": }')
    window.get_by_label("Método do pedido").click()
    window.get_by_role("option", name="POST").click()
    # What is wrong opens what it is folded away in.
    window.get_by_text("Pedido").click()
    expect(body).not_to_be_visible()
    save.click()
    expect(said_at(body)).to_contain_text("O que se envia não é JSON (linha 1, letra 10).")
    body.fill('{"town": "Lisboa"}')
    save.click()
    expect(window.get_by_text("weather.lisboa foi alterada").last).to_be_visible()
    expect(said_at(body)).to_have_count(0)


def a_category(place: WebServer, window: Page) -> None:
    """A question that was not answered."""
    window.goto(f"{place.address}/streams/new")
    settled(window).get_by_text("Prontas a usar").click()
    window.get_by_role("button", name="Pré-visualizar", exact=True).click()
    expect(said_at(window.get_by_label("Endereço do feed"))).to_contain_text("Falta Endereço do feed. Escreva como em")


def a_page_that_is_pointed_at(place: WebServer, window: Page) -> None:
    """What cannot be opened, and a name that is taken."""
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
        expect(said_at(name)).to_contain_text("Já existe uma fonte weather.lisboa.")


def an_alert_and_its_addresses(place: WebServer, window: Page) -> None:
    """A source that is not there, and an address that refuses a trial before anything depends on it."""
    window.goto(f"{place.address}/sources/weather.lisboa")
    settled(window).get_by_role("button", name="Novo alerta").click()
    form = window.get_by_role("dialog")
    expect(form.get_by_test_id("checked")).to_have_text("Valores desta fonte: wind (m/s)")
    form.get_by_label("Condição").fill("wind > 10")
    form.get_by_label("Tem de ser verdade durante").fill("always")
    form.get_by_role("button", name="Guardar").click()
    expect(said_at(form.get_by_label("Tem de ser verdade durante"))).to_contain_text("'always' não é uma duração.")
    form.get_by_label("Tem de ser verdade durante").fill("")
    with Listener(status=500) as listener:
        notify, send = form.get_by_label("Notificar também"), form.get_by_role("button", name="mensagem de ensaio")
        notify.fill(listener.address)
        send.click()
        expect(said_at(notify)).to_contain_text("Recusado, ou não alcançado: json.")
        listener.status = 200
        send.click()
        expect(window.get_by_text("1 endereços aceitaram a mensagem.")).to_be_visible()
        form.get_by_role("button", name="Guardar").click()
    expect(window.get_by_text("O alerta está ativo.")).to_be_visible()
