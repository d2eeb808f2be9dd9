// Command bench measures the library against its goals of speed, and prints one line for each goal.
//
//	go -C tools run ./bench                    measure everything except the emulator
//	go -C tools run ./bench -run 'P1[3-6]|row' measure the lines whose number or name matches
//	go -C tools run ./bench -list              print the numbers and names of the lines
//	go -C tools run ./bench -json              print JSON
//	go -C tools run ./bench -slices 5          measure less precisely, in less time
//	go -C tools run ./bench -entities 100000   measure package verify with as many entities as its goal of memory is for
//	go -C tools run ./bench -azurite           measure the lines of the emulator Azurite, too
//
// A line is one of four kinds:
//
//   - A ratio: the processor time of the library's operation to that of a baseline. Both run in one
//     process on one processor, in slices of 20 ms, in the order ours, baseline, baseline, ours.
//     The result is the median of the ratios of 21 pairs of slices. A transport in the process
//     returns recorded responses of package storagetest, so only the client is measured.
//     Allocations are counted apart from the slices.
//   - A number of requests, which must be exact.
//   - A figure: the time of many operations over a service that responds after 5 ms, the
//     connections that they open, or the memory of a kept entity. Times depend on the load of the
//     machine.
//   - A ratio on Azurite.
//
// The lines of package verify are the processor time and the peak heap of a run over recorded
// pages, which are in a file.
//
// Baselines (a), (a1) and (b) are what a user of the SDK writes: (a) json.Marshal or json.Unmarshal
// of a struct of strings; (a1) the same, then converted to typed fields; (b) aztables.EDMEntity, as
// the documentation of the SDK shows, copied into the struct. Raw is the call of the SDK alone. The
// clients of "plain" lines lack the options of table.ClientOptions.
//
// Lines of floors have no goal: what code that is written by hand for one type costs, through the
// same pipeline. "whole" is the same code with all that a method of a table promises: a bound of
// its time, an operation ID, checked keys and values, and entities with their keys, ETags, times
// and stored content.
//
// The tests of this package compare the number of allocations of the library's side with
// testdata/allocations.txt, and the numbers of requests with their goals. Times are never compared
// by a test.
package main
