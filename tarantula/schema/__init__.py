"""SQLAlchemy table classes, a module for each part of the program; `tarantula.models` exports all of them."""
