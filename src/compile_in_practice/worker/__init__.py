"""Run jobs, each in a process of its own, where nothing but torch can be imported.

A job is a chain of fences or one lab experiment. This package runs beside torch
and inside the children, so it imports the standard library alone.
``python -m compile_in_practice.worker ORDER.json`` writes one JSON line an event;
`compile_in_practice.run` starts it and turns the events into results.
"""
