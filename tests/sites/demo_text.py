"""Texts of the faculty of the demo."""

from __future__ import annotations

from typing import NamedTuple


class Department(NamedTuple):
    """A department of the faculty."""

    short: str
    name: dict[str, str]
    people: tuple[str, ...]
    courses: tuple[str, ...]


FACULTY = {
    "pt": "Ensina-se e investiga-se aqui desde 1911. As páginas que se seguem mudam sem aviso: por isso se guardam.",
    "en": "Teaching and research since 1911. These pages change without notice, which is why they are kept.",
}
READING = {
    "pt": (
        "Quem guarda uma página guarda também o dia em que ela foi assim, e o endereço onde estava.",
        "O que está na rede hoje pode não estar amanhã; o que está no arquivo fica.",
        "As imagens, os estilos e os programas de uma página fazem parte dela tanto como as palavras.",
        "Um servidor visita-se devagar, um pedido de cada vez, e lê-se primeiro o que ele pede.",
    ),
    "en": (
        "Whoever keeps a page also keeps the day on which it was so, and the address where it stood.",
        "What is on the web today may be gone tomorrow; what is in the archive stays.",
        "Pictures, styles and scripts are as much a part of a page as its words.",
        "A server is visited slowly, one request at a time, after reading what it asks for.",
    ),
}
NEWS = (
    ("Abriu a sala de leitura", "A sala de leitura está aberta até à meia-noite durante os exames."),
    ("Eclipse visto do telhado", "Cento e vinte pessoas subiram ao telhado para ver o eclipse parcial."),
    ("Uma aranha nova para a ciência", "A espécie foi encontrada a dois passos da faculdade."),
    ("Dia aberto", "As escolas visitam os laboratórios na primeira quarta-feira de maio."),
    ("A rede vai abaixo no domingo", "Trabalhos de manutenção das oito às dez."),
    ("Prémio para a estatística", "Um trabalho sobre a revisita de páginas foi premiado."),
    ("Concerto no átrio", "O coro canta Lopes-Graça na sexta-feira, às 18 horas."),
    ("Novo horário do bar", "O bar abre agora às sete e meia."),
)
DEPARTMENTS = (
    Department(
        "di",
        {"pt": "Informática", "en": "Informatics"},
        ("Ana Vale", "Duarte Reis"),
        ("Sistemas Distribuídos", "Recuperação de Informação", "Compiladores"),
    ),
    Department(
        "df",
        {"pt": "Física", "en": "Physics"},
        ("Inês Corvo", "Rui Salgado"),
        ("Mecânica", "Óptica", "Astronomia"),
    ),
    Department(
        "dm",
        {"pt": "Matemática", "en": "Mathematics"},
        ("Marta Pinho", "João Serra"),
        ("Álgebra Linear", "Análise Real", "Lógica"),
    ),
    Department(
        "db",
        {"pt": "Biologia", "en": "Biology"},
        ("Luísa Prado", "Tomé Vaz"),
        ("Genética", "Aracnologia", "Ecologia"),
    ),
    Department(
        "dg",
        {"pt": "Geologia", "en": "Geology"},
        ("Filipa Rocha", "Nuno Areias"),
        ("Mineralogia", "Sismologia", "Paleontologia"),
    ),
)
