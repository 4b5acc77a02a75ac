"""What if: the calls, copies and kernels of a report as a graph that is replayed with a change.

``recording`` reads a report, ``graph`` finds out what waits for what, ``changes`` edits the graph, ``simulation``
replays it, ``critical_path`` tells what its length consists of, and ``prediction`` puts a number with an interval to
it.
"""
