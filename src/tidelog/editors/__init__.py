"""Support for people who write programs in editors.

format      `formatted`, the layout of `tidelog format`: items, statements, layout
server      `server`, that of `tidelog lsp`: documents, names, answers, completions, outline, diagnostics, places, sizes
colours     the lexer for Pygments
"""
