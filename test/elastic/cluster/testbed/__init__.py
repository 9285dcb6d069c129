"""A private cluster of network namespaces on one machine; test/elastic/cluster/cluster is its command."""
