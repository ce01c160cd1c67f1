// Package differential asks a real agent-server and ohgw the same, and compares the
// answers: 503 requests and 22 sockets. Every difference stands in
// testdata/differences.tsv with its reason; a row that explains nothing fails the test.
//
// It is run by hand, because it takes minutes:
//
//	OHGW_TEST_AGENT_SERVER=$PWD/scripts/agent-server go test -tags e2e ./e2e/differential
package differential
