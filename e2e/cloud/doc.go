// Package cloud_test runs the program against real app-servers of OpenHands: the
// commands for conversations, and the gateway with OpenAI's client for Python.
// scripts/e2e-cloud and scripts/e2e-cloud-v0 install what it needs and run it.
package cloud_test
