"""The client of `tidelog serve`: the verbs of a database, over HTTP.

exchange    requests and answers, and problem documents as errors of tidelog
rows        rows of a user, in the order of the declared columns
answers     what a server sends, as relations, changes and explanations; subscribers
database    `RemoteDatabase`, which `tidelog.connect("http://…")` returns, with its blocks of changes
"""
