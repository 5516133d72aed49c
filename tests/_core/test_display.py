"""Text from elsewhere where it is shown."""

import pytest

from rational_anova._core.display import cell, code, line, markdown, visible


@pytest.mark.parametrize("letter", ["\x1b", "\x07", "\x9b", "\u202e", "\u200b", "\x7f", "\r"])
def test_what_a_terminal_acts_on_is_written_out(letter):
    assert letter not in visible(f"a{letter}b")
    assert letter not in line(f"a{letter}b")


def test_other_text_stays():
    assert visible("Température 5 °C, 温度\n\tk") == "Température 5 °C, 温度\n\tk"
    assert line("a\nb") == "a\\nb"


def test_markdown_shows_text_as_it_is():
    shown = markdown("# x <script>alert(1)</script> [a](b) `c` | _d_\n# e")
    assert "<" not in shown
    assert "\n" not in shown
    for mark in "#[]`|_":
        assert f"\\{mark}" in shown
    assert code("a` <b>") == "`a' <b>`"


@pytest.mark.parametrize("text", ["=1+1", "+cmd", "@x", "-a", "\tx", "=cmd|'/c calc'!A0"])
def test_a_cell_is_no_formula(text):
    assert cell(text) == f"'{text}"


@pytest.mark.parametrize("value", ["a", "-1.5", "+3", 5, -2.0, None, "1=1"])
def test_other_cells_stay(value):
    assert cell(value) == value


def test_a_notebook_shows_the_pictures():
    from rational_anova import Rational1d, certify
    from rational_anova._core.figures import Picture

    figure = certify(Rational1d(1), [(-1, 1)]).plot()
    assert isinstance(figure, Picture)
    assert figure._repr_png_().startswith(b"\x89PNG")
