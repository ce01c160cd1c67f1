// Package canvas runs OpenHands' agent canvas in a real browser against
// `ohgw serve --native`, the embedded agent and a scripted LLM.
//
// What a page must not do is in every test: a fault of its own, words on the
// console, an answer of 400 or more that has no reason in troubles_test.go.
// scripts/e2e-canvas installs what it needs and runs it with the tag e2e_canvas;
// `make check-all` does, and the ordinary tests do not.
package canvas
