"""Progressive search: a chain of questions over a small corpus, each of which takes the answer to the one before it.

country      the values: what there is, and what is true of it
settling     a country, drawn from a seed
asking       a chain of questions through it, and where each answer stands
writing      a document about each thing
corpus       finding documents by words
rules        the search engine as an agent finds it
tasks        tasks, their oracle's plan and how a run is marked
"""
