package main

// all returns the lines, those of the emulator on request, and a function that ends what they have started.
func all(emulator bool) (lines []line, stop func()) {
	for _, g := range ratios() {
		lines = append(lines, g.line())
	}
	for _, g := range append(waits(), workers()...) {
		lines = append(lines, g.line())
	}
	return lines, func() {}
}
