// What esbuild takes out of the script and writes beside it.
declare module "*.css";
