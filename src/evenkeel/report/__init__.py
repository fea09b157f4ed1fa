"""Charts and one self-contained HTML page, from stored runs and loss tables only.

`content` is what a page is told, `charts` are declarations of single figures, `sections` puts them in order, `page`
writes the file, `stored` reads run folders, `watch` serves the same page of a run that is still going on.
"""
