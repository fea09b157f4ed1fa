"""Charts of the paper's figures: one module a figure, each a function of the stored result. Nothing loads on import."""
