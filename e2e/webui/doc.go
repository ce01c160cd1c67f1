// Package webui runs a real Open WebUI in a real browser against `ohgw serve`,
// the embedded agent and a scripted LLM, and counts the agent's runs there.
//
// It is not a part of the ordinary tests: scripts/e2e-webui installs what it needs
// (0.9 GB, three minutes) and runs it with the tag e2e_webui, which takes two minutes.
// What Open WebUI sent is kept in testdata, shortened, and replayed by the ordinary tests
// of package daemon.
package webui
