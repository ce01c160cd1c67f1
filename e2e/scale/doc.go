// Package scale is the judge of gateways that share a state: three real processes of
// ohgw behind a balancer, a real Postgres, a fake agent-server or several real ones, and a
// scripted LLM that counts what it is asked. Gateways are killed between any two steps,
// frozen and cut off, the database crashes and goes away, agent-servers die, gateways are
// replaced. At the end of each row no agent has run twice, no answer is lost, no client
// hangs, and each run that is left in the database has ended.
//
// The tests have the build tag e2e; scripts/scale runs them. OHGW_SCALE is how long the
// row of random faults takes (20s), OHGW_SCALE_SEED repeats one.
package scale
