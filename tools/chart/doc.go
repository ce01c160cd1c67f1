// Package chart has the tests of the Helm chart in deploy/helm/ohgw. They render it with
// Helm's own engine, lint it, and read the result as Kubernetes would.
//
// It is a module of its own: Helm's dependencies stay out of the program's module graph.
package chart
