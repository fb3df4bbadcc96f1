"""Showing a report."""
