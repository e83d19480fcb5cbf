"""From files, tables, frames and streams to facts that fit a declared relation.

readers   files as frames that lose no line
checks    Spark expressions that find the values which do not fit a declared kind
orders    columns that say when, as words that compare as they do; `latest` keeps the latest event of each key
changes   what a row of a feed does to its fact or key, and which row of a batch counts
mapping   a frame mapped to a relation: rows that fit, as leaf columns, and the others with their reasons
target    the user's words for a mapping: relation, columns, key, and the columns that say what a row does and when
streams   each micro-batch of a query mapped, and committed as one epoch, once
"""
