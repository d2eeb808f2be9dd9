// Package whole tests what concerns all packages, on the service in memory: clients, policies,
// outages, signatures, spans, and tables of other programs.
package whole
