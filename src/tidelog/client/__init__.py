"""The client of `tidelog serve`: the verbs of a database, over HTTP.

exchange    requests and answers, and problem documents as errors of tidelog
rows        rows of a user, in the order of the declared columns
relations   rows of relations and queries, and changes of them
database    `RemoteDatabase`, which `tidelog.connect("http://…")` returns
explaining  proofs and other explanations, with the program that they are about
transaction blocks of changes
following   subscribers, in a thread that connects again where it has to
"""
