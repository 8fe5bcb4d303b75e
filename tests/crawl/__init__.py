"""Tests of whole collections and their stages."""
