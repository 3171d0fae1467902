// The service below /api, beside the controllers of a NestJS application. To run it: PORT=3000 npx tsx nest.ts
import 'reflect-metadata'
import { Controller, Get, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { createCollectionService } from 'collection-service'
import { toNodeHandler } from 'collection-service/node'
import config from './config.json' with { type: 'json' }

@Controller('health')
class HealthController {
  @Get()
  read() {
    return { healthy: true }
  }
}

@Module({ controllers: [HealthController] })
class AppModule {}

const service = createCollectionService(config)

export const app = await NestFactory.create(AppModule)

// Nest, on Express, says where the service is mounted, so that `Location` is right without a `basePath`. Bodies may be
// parsed before, by `app.useBodyParser('json')`, or not.
app.use('/api', toNodeHandler(service))

if (process.env.PORT !== undefined) await app.listen(Number(process.env.PORT))
