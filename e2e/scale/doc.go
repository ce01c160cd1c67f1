// Package scale is the judge of gateways that share a state: three real processes of
// ohgw behind a balancer, a real Postgres, agent-servers, and a scripted LLM that
// counts what it is asked. Gateways are killed between any two steps, frozen and cut
// off, the database crashes and goes away, agent-servers die, versions roll. At the end
// of every row no agent has run twice, no answer is lost, no client hangs, and the
// database has no run that nobody looks after.
//
// The tests have the build tag e2e; scripts/scale runs them. OHGW_SCALE is how long the
// row of random faults takes (20s), OHGW_SCALE_SEED repeats one.
package scale
