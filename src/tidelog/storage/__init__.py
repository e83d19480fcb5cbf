"""Storage: relations of words, and the meaning of words.

dictionary  values to words and back;  symbols, records, record_text, arrow_arrays  its parts
distant_symbols  symbols whose texts are in files
column_names  columns, and fields of records, by the names that a program declares
number_words  words of numbers;  ordinal_table  the numbers that `ord` gives to symbols and records
ordering    the order of tuples, whatever their words are, and of many rows;  rows  equal rows, and places of rows
usage       the words in use
stored      a relation: its rows and a set over them;  marks  counts, births, supports of rows
changes     the changes of relations in place, within an epoch;  journal  deaths and births, and how to undo them
waiting     rows that are inserted together, in the order of the slots, because these lie in files
grids       bits of the pairs of a dense relation, while a bootstrap derives them
extents     the rows as of the last epoch, and deaths since;  readers  such rows for readers in other threads
closure     the transitive closure of edges;  changed_pairs  the pairs that a change of it removes and adds
closed_relation  its pairs, written only when a caller reads them, and folds over them
catalog     the table in which kernels find relations and indexes, and the indexes;  memory  blocks that grow in place
room        the memory that arrays may take, and files for those that do not fit
"""
