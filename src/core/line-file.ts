export { type JournalFiles as LineFiles, NODE_FILES } from './journal/disk.ts'
