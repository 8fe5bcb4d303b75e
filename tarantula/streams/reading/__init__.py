"""Reading sources on schedule: due times, visits, server leases, the reader and its writer thread."""
