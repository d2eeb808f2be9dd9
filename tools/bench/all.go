package main

// all returns the lines, those of the emulator on request those of package verify and of
// storagetest by size for so many entities, and a function that stops the emulator.
func all(onEmulator bool, entities int) (lines []line, stop func()) {
	for _, g := range ratios() {
		lines = append(lines, g.line())
	}
	for _, g := range floors() {
		lines = append(lines, g.line())
	}
	for _, g := range counts() {
		lines = append(lines, g.line())
	}
	for _, g := range append(waits(), append(workers(), kept())...) {
		lines = append(lines, g.line())
	}
	lines = append(append(lines, verifies(entities)...), sizes(entities)...)
	if !onEmulator {
		return lines, func() {}
	}
	e := newEmulator()
	return append(append(lines, e.lines()...), e.services()...), e.stop
}
