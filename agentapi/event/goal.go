package event

// What has become of a goal.
const (
	GoalRunning     = "running"
	GoalComplete    = "complete"
	GoalCapped      = "capped" // judged as often as allowed
	GoalInterrupted = "interrupted"
)

// Goal is an objective for which runs follow each other, as it is told and stored: after
// each run a judge says what is missing.
type Goal struct {
	Active        bool     `json:"active"`
	Status        string   `json:"status"`
	Iteration     int      `json:"iteration"` // how often it was judged
	MaxIterations int      `json:"max_iterations"`
	Objective     string   `json:"objective"`
	Verdict       *Verdict `json:"verdict"`
}

// Verdict is what a judge says of a goal.
type Verdict struct {
	Score    float64 `json:"score"` // how sure it is that all is done, from 0 to 1
	Complete bool    `json:"complete"`
	Missing  string  `json:"missing"`
}

// Goal is the goal that a state update tells; ok is false for every other event.
func (e Event) Goal() (g Goal, ok bool) { return announced[Goal](e, KeyGoal) }
