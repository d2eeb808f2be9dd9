// The JavaScript side of the exchange of block blobs: uploads blobs in several ways, or downloads them and prints what they contain.
const { BlobServiceClient } = require("@azure/storage-blob");
const { createHash } = require("crypto");
const { Readable } = require("stream");

const container = BlobServiceClient.fromConnectionString(process.env.CONNECTION).getContainerClient(process.env.TABLE);
const MiB = 1024 * 1024;

// content returns the bytes that the Go side expects.
function content(size) {
  const b = Buffer.alloc(size);
  for (let i = 0; i < size; i++) b[i] = (i * 31 + (i >> 10)) & 255;
  return b;
}

async function write() {
  const options = { metadata: { language: "js" }, blobHTTPHeaders: { blobContentType: "image/jpeg" } };
  const blob = (name) => container.getBlockBlobClient(name);
  await blob("empty").upload("", 0, options);
  await blob("put").uploadData(content(MiB + 1), options);
  await blob("blocks").uploadData(content(3 * MiB + 1), { blockSize: MiB, maxSingleShotSize: MiB, concurrency: 3, ...options });
  await blob("stream").uploadStream(Readable.from([content(3 * MiB + 1)]), MiB, 3, options);
  const list = blob("ä b/日😀 %2F?#.jpg");
  for (const [id, text] of [["Mg==", "two"], ["MQ==", "one"], ["Mw==", "three"]]) await list.stageBlock(id, text, text.length);
  const uncommitted = (await list.getBlockList("uncommitted")).uncommittedBlocks.map((b) => b.name).sort().join();
  if (uncommitted !== "MQ==,Mg==,Mw==") throw new Error("uncommitted blocks " + uncommitted);
  await list.commitBlockList(["MQ==", "Mg=="], options);
  try {
    await list.upload("x", 1, { conditions: { ifNoneMatch: "*" } });
    throw new Error("a blob that exists is replaced");
  } catch (e) {
    if (e.code !== "BlobAlreadyExists") throw e;
  }
  try {
    await list.commitBlockList(["Mw=="], options);
    throw new Error("a block that was discarded is committed");
  } catch (e) {
    if (e.code !== "InvalidBlockList") throw e;
  }
}

const sha = (b) => createHash("sha256").update(b).digest("hex");

async function read() {
  const blobs = {};
  for await (const item of container.listBlobsFlat({ includeMetadata: true })) {
    const blob = container.getBlockBlobClient(item.name);
    const whole = await blob.downloadToBuffer();
    const parallel = await blob.downloadToBuffer(0, undefined, { blockSize: 300000, concurrency: 4 });
    const range = { offset: Math.floor(whole.length / 3), count: Math.floor(whole.length / 2) };
    let part = Buffer.alloc(0);
    if (range.count > 0) {
      const response = await blob.download(range.offset, range.count);
      for await (const chunk of response.readableStreamBody) part = Buffer.concat([part, chunk]);
    }
    blobs[item.name] = {
      size: whole.length, sum: sha(whole), parallel: sha(parallel), part: sha(part), wantPart: sha(whole.subarray(range.offset, range.offset + range.count)),
      blocks: (await blob.getBlockList("committed")).committedBlocks.length,
      metadata: item.metadata, type: item.properties.contentType, kind: item.properties.blobType,
    };
  }
  console.log(JSON.stringify(blobs));
}

({ write, read })[process.env.STEP]().catch((e) => { console.error(e); process.exit(1); });
