"""From files, tables, frames and streams to facts that fit a declared relation.

readers   files as frames that lose no line
checks    Spark expressions that find the values which do not fit a declared kind
mapping   a frame mapped to a relation: rows that fit, as leaf columns, and the others with their reasons
target    the user's words for a mapping: relation, columns, and the column that says what a row does
streams   each micro-batch of a query mapped, and committed as one epoch, once
"""
