// The JavaScript side of the exchange of rows: writes rows of every EDM type in the partition "js", or reads the rows of the partition
// "go" and prints their types and values in JavaScript.
const { TableClient } = require("@azure/data-tables");

const client = TableClient.fromConnectionString(process.env.CONNECTION, process.env.TABLE, { allowInsecureConnection: true });

const show = (v) =>
  typeof v === "bigint" ? ["bigint", v.toString()]
  : v instanceof Date ? ["Date", v.toISOString()]
  : v instanceof Uint8Array ? ["Uint8Array", Buffer.from(v).toString("hex")]
  : v !== null && typeof v === "object" ? [v.type, String(v.value)]
  : typeof v === "number" ? ["number", Object.is(v, -0) ? "-0" : String(v)]
  : [typeof v, String(v)];

async function write() {
  const base = { partitionKey: "js", Text: "é日😀 \"'\\", Empty: "", Truth: true, Int32: -2147483648, Half: 0.5 };
  await client.createEntity({
    ...base,
    rowKey: "1",
    Int64: 9007199254740993n,
    Whole: { type: "Double", value: "3" },
    Huge: { type: "Double", value: "1.7976931348623157e308" },
    NaN: { type: "Double", value: "NaN" },
    When: { type: "DateTime", value: "2026-11-21T01:02:03.1234567Z" },
    ID: { type: "Guid", value: "c9da6455-213d-42c9-9a79-3e9149a57833" },
    Bytes: new Uint8Array([0, 1, 255]),
  });
  await client.createEntity({ ...base, rowKey: "2", Int64: -9223372036854775808n, When: new Date("2026-11-21T01:02:03.123Z") });
}

async function read() {
  const rows = {};
  for (const disableTypeConversion of [false, true]) {
    const query = { filter: "PartitionKey eq 'go'" };
    for await (const e of client.listEntities({ queryOptions: query, disableTypeConversion })) {
      const row = {};
      for (const [k, v] of Object.entries(e)) row[k] = show(v);
      (rows[e.rowKey] ??= []).push(row);
    }
  }
  console.log(JSON.stringify(rows));
}

({ write, read })[process.env.STEP]().catch((e) => { console.error(e); process.exit(1); });
