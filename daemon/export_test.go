package daemon

import "time"

// Routes are the methods and paths of all routes.
func (d *Daemon) Routes() (list []string) {
	for _, route := range d.table() {
		for _, method := range route.methods {
			list = append(list, method+" "+route.path)
		}
	}
	return list
}

// SteadyTick is the distance of the moments at which an answer may hide something.
const SteadyTick = steadyTick

// UntilTick is the time from a moment to the next one of the grid.
func UntilTick(elapsed time.Duration) time.Duration { return untilTick(elapsed) }
