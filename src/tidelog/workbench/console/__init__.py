"""The console: the page at `/` of `tidelog serve`, and the same page as a file.

    assets   the modules of the page in JavaScript, its style, and the libraries under `vendor`
    page     the page that a server sends, with its Content-Security-Policy, and the page as one file with its data

The page uses the paths under /v1 like any other client. See docs/how-to/console.md.
"""
