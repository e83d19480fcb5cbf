"""Support for people who write programs in editors.

format      `format_program`, the layout of `tidelog format`;  layout  items of texts, and documents that fit into lines
server      `server`, that of `tidelog lsp`: documents, names, answers, diagnostics
colours     the lexer for Pygments
"""
