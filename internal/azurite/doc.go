// Package azurite finds or starts Azurite, the emulator of Azure Storage, for the tests and the catalogue.
//
// [Open] uses the emulator that the environment variable AZTABLEKIT_AZURITE names by a connection string, and otherwise
// starts one of its own: in memory, on free loopback ports, beside any number of others. It never looks for one on the
// default ports, which might be a stranger's. What it starts ends with the process that started it, however that ends.
//
// Azurite comes from npm, in the versions that the lock file in npm/ pins, into the user's cache folder; the command
// ./install does that ahead of time. Where there is no npm, Docker serves.
package azurite
