"""What-if predictions: replay the calls, copies and kernels of a report as a graph with a change applied.

``recording`` reads a report, ``graph`` infers the dependencies, ``changes`` edits the graph, ``simulation`` replays it,
``critical_path`` breaks its length down, and ``prediction`` returns the predicted length with an interval.
"""
