"""An extension of Griffe: the examples in docstrings are shown as code, not as quotations within quotations."""

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"^>>> .*(?:\n(?!\s*$).*)*", re.MULTILINE)  # from the prompt to the next empty line


class Doctests(griffe.Extension):
    """Fences around every example."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:  # noqa: ANN401 - Griffe's own signature
        """Rewrite one docstring."""
        if obj.docstring is not None:
            obj.docstring.value = EXAMPLE.sub(lambda found: f"```pycon\n{found[0]}\n```", obj.docstring.value)
