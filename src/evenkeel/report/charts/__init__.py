"""Single figures, declared with Vega-Altair over named data; `look` says how they all look."""
