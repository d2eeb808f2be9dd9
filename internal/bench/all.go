package main

// all returns the lines, those of the emulator on request, and a function that stops the emulator.
func all(onEmulator bool) (lines []line, stop func()) {
	for _, g := range ratios() {
		lines = append(lines, g.line())
	}
	for _, g := range counts() {
		lines = append(lines, g.line())
	}
	for _, g := range append(waits(), append(workers(), kept())...) {
		lines = append(lines, g.line())
	}
	if !onEmulator {
		return lines, func() {}
	}
	e := newEmulator()
	return append(lines, e.lines()...), e.stop
}
