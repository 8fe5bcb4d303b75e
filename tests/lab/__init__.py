"""A laboratory: network namespaces with public, private and metadata addresses, and name servers that lie."""
