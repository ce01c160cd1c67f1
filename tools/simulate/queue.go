package main

// class is how urgent a statement is.
type class int

const (
	usual class = iota
	late        // it waits while there are usual ones, if the queue has classes
)

// statement is one that waits for a core.
type statement struct {
	came    float64 // seconds
	service float64 // seconds on a core
	class   class
	done    func() // may be nil
}

// database is c cores that take statements in the order in which they come.
type database struct {
	cores   int
	classes bool // usual statements go before late ones

	busy    int
	waiting [2]line
	used    float64 // seconds of cores
	measure func(s statement, waited, took float64)
}

// line is a queue whose ends are cheap.
type line struct {
	items []statement
	head  int
}

func (l *line) push(s statement) { l.items = append(l.items, s) }
func (l *line) empty() bool      { return l.head == len(l.items) }

func (l *line) pop() statement {
	s := l.items[l.head]
	l.items[l.head] = statement{}
	l.head++
	if l.empty() {
		l.items, l.head = l.items[:0], 0
	}
	return s
}

// submit gives the database a statement.
func (w *world) submit(s statement) {
	s.came = w.now
	if w.db.busy < w.db.cores {
		w.serve(s)
		return
	}
	lane := usual
	if w.db.classes {
		lane = s.class
	}
	w.db.waiting[lane].push(s)
}

// serve has a core work on a statement, and then on the next one.
func (w *world) serve(s statement) {
	w.db.busy++
	waited := w.now - s.came
	w.after(s.service, func() {
		w.db.busy--
		w.db.used += s.service
		w.db.measure(s, waited, w.now-s.came)
		for lane := range w.db.waiting { // what waits goes before what s leads to
			if w.db.busy < w.db.cores && !w.db.waiting[lane].empty() {
				w.serve(w.db.waiting[lane].pop())
			}
		}
		if s.done != nil {
			s.done()
		}
	})
}

// world is what happens when.
type world struct {
	now    float64 // seconds
	count  int
	events events
	db     database
}

// after has f happen in so many seconds.
func (w *world) after(seconds float64, f func()) {
	w.count++
	w.events.push(event{w.now + seconds, w.count, f})
}

// run lets everything happen until a time.
func (w *world) run(until float64) {
	for len(w.events) > 0 && w.events[0].at <= until {
		e := w.events.pop()
		w.now = e.at
		e.happens()
	}
	w.now = until
}

// event is something that happens. Of two at the same time the older one is first.
type event struct {
	at      float64
	n       int
	happens func()
}

func (e event) before(o event) bool { return e.at < o.at || e.at == o.at && e.n < o.n }

// events is a heap: none is before its parent. container/heap would box each event.
type events []event

func (e *events) push(added event) {
	h := append(*e, added)
	i := len(h) - 1
	for parent := (i - 1) / 2; i > 0 && added.before(h[parent]); parent = (i - 1) / 2 {
		h[i] = h[parent]
		i = parent
	}
	h[i] = added
	*e = h
}

func (e *events) pop() event {
	h := *e
	first, last := h[0], h[len(h)-1]
	h[len(h)-1] = event{}
	h = h[:len(h)-1]
	i := 0
	for child := 1; child < len(h); child = 2*i + 1 {
		if child+1 < len(h) && h[child+1].before(h[child]) {
			child++
		}
		if !h[child].before(last) {
			break
		}
		h[i] = h[child]
		i = child
	}
	if len(h) > 0 {
		h[i] = last
	}
	*e = h
	return first
}
