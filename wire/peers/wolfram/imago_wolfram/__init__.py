"""The far end of Imago for Wolfram Language: a host of an engine, on the link and the evaluator of the Python peer."""
