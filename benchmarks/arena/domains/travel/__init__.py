"""Group travel planning: plans of several travellers, each of which refers to the plans of those before.

trip        the values: options, days, slots, plans
rows        trips from rows of TravelPlanner's reference data, whose schema this is
invented    such rows, made up from a seed, for users who have none
wishes      what a traveller asks for, and which option meets it
groups      a group on a trip, drawn from a seed
rules       the planner's tools as an agent finds them
tasks       tasks, their oracle's plan and how a run is marked
"""
