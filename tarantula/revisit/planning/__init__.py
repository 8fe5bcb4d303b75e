"""Plans for pages with uncertain change rates and different ages, on servers with their own pauses."""
