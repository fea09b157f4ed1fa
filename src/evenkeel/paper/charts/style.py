"""What all charts share: the library on demand, Okabe and Ito's colours, sizes that a printed column can take."""

from importlib import import_module
from typing import Any

from evenkeel.errors import InputError

Chart = Any  # an Altair chart; the library is an extra and is loaded when something is drawn

# Okabe and Ito (2008): told apart with any colour vision; near the paper's pink, blue, orange and green
PINK, BLUE, ORANGE, GREEN, VERMILION, GREY = "#CC79A7", "#0072B2", "#E69F00", "#009E73", "#D55E00", "#6B6B6B"
INK, PALE = "#222222", "#BBBBBB"
FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
SCALE = 3.0  # pixels a point: sharp at the width of a page


def altair() -> Any:  # noqa: ANN401 - a module that may not be there
    """The chart library, or one line that says how to get it."""
    try:
        import_module("vl_convert")
        return import_module("altair")
    except ImportError as error:
        remedy = 'pip install "evenkeel[report]", or --no-charts'
        raise InputError(f"charts: {error.name} is not installed; {remedy}") from None


def styled(chart: Chart) -> Chart:
    """One look for all: no frame, thin grey axes, text in one size."""
    return (
        chart.configure(font=FONT, background="white", padding=8)
        .configure_view(stroke=None)
        .configure_axis(
            labelFontSize=11,
            titleFontSize=12,
            titleFontWeight="normal",
            labelColor=INK,
            titleColor=INK,
            gridColor="#EEEEEE",
            domainColor=PALE,
            tickColor=PALE,
        )
        .configure_title(fontSize=13, subtitleFontSize=11.5, anchor="start", color=INK, subtitleColor=INK, offset=8)
    )


def rows(*values: dict[str, Any]) -> Any:  # noqa: ANN401 - Altair's own type
    """Inline data."""
    return altair().Data(values=list(values))


def png(chart: Chart) -> bytes:
    """The chart as a picture."""
    image: bytes = import_module("vl_convert").vegalite_to_png(chart.to_dict(), scale=SCALE)
    return image


def svg(chart: Chart) -> str:
    """The chart as vectors."""
    text: str = import_module("vl_convert").vegalite_to_svg(chart.to_dict())
    return text
