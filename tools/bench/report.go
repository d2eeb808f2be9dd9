package main

import (
	"fmt"
	"io"
	"runtime"
	"strconv"
)

// columns is the layout of a line: number, name, result and goal, allocations and goal, outcome.
const columns = "%-8s %-60s %8s  %-18s %8s  %-20s %s\n"

func printHead(out io.Writer) {
	fmt.Fprintf(out, "%s, %d processors\n", runtime.Version(), runtime.NumCPU())
	fmt.Fprintf(out, columns, "number", "what", "result", "goal", "memory", "goal", "")
}

// print prints the line of a result.
func (r result) print(out io.Writer) {
	value, valueGoal := r.Value.texts()
	memory, memoryGoal := "", ""
	if r.Memory != nil {
		memory, memoryGoal = r.Memory.texts()
		if r.Memory.NoGoal {
			memoryGoal = r.Memory.Unit
		}
	}
	outcome := "ok"
	switch {
	case !r.hasGoal():
		outcome = ""
	case !r.OK:
		outcome = "short"
	}
	fmt.Fprintf(out, columns, r.ID, r.What, value, valueGoal, memory, memoryGoal, outcome)
}

// texts returns the number and the goal.
func (f figure) texts() (got, goal string) {
	if got = number(f.Got); f.NoGoal {
		return got, f.Unit
	}
	goal = string(f.Bound) + " " + strconv.FormatFloat(f.Goal, 'f', -1, 64)
	if f.Unit != "" {
		goal += " " + f.Unit
	}
	return got, goal
}

// number returns a number with three digits.
func number(x float64) string {
	switch {
	case x == float64(int(x)):
		return strconv.Itoa(int(x))
	case x >= 100:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case x >= 10:
		return strconv.FormatFloat(x, 'f', 1, 64)
	case x >= 1:
		return strconv.FormatFloat(x, 'f', 2, 64)
	}
	return strconv.FormatFloat(x, 'f', 3, 64)
}

// printFoot prints how many goals are met.
func printFoot(out io.Writer, results []result) {
	ok, short := 0, 0
	for _, r := range results {
		switch {
		case !r.hasGoal():
		case r.OK:
			ok++
		default:
			short++
		}
	}
	fmt.Fprintf(out, "%d lines: %d ok, %d short, %d without a goal\n", len(results), ok, short, len(results)-ok-short)
}
