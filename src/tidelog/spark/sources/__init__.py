"""From files, tables and frames to facts that fit a declared relation.

readers   files as frames that lose no line
checks    Spark expressions that find the values which do not fit a declared kind
orders    columns that say when, as words that compare as they do, and the relation of the latest events
changes   the user's words for a mapping; what a row of a feed does to its fact or key, and which row of a batch counts
feeds     feeds in known formats, as frames with a column for each column of a relation
mapping   a frame mapped to a relation: rows that fit, as leaf columns, and the others with their reasons
facts     the rows of mapped sources, checked, kept and counted, and facts on their way to an engine
"""
