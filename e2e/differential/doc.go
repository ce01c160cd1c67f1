// Package differential asks a real agent-server and ohgw the same, and compares the
// answers.
//
// testdata/script.txt has 601 requests and 22 sockets, which both are asked. Every
// difference stands in testdata/differences.tsv with its reason; a row that explains
// nothing fails the test. `make check-all` runs it, because it takes minutes. By hand:
//
//	OHGW_TEST_AGENT_SERVER=$PWD/scripts/agent-server go test -tags e2e ./e2e/differential
//
// testdata/scenarios.txt has 106 conversations with a scripted LLM. What an agent-server
// did in them is in testdata/recorded.jsonl: the log, the status, and the shape of each
// request to the LLM. One test plays them with ohgw, and needs no agent-server;
// testdata/scenario-differences.tsv has the differences. Another plays them with an
// agent-server, on a machine with tmux, and compares with the recording. It writes the
// recording with OHGW_TEST_RECORD=1.
package differential
