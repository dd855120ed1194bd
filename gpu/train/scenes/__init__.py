"""Rendered training pictures: assets, scene building, renderer (see ../README.md)."""
